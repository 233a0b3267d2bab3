/** The version in package.json; a test compares the two. */
export const version = '0.1.0'
