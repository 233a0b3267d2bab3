/** Of this package, as its package.json says; a test holds the two together. */
export const version = '0.1.0'
