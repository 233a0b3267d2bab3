/** The polling intervals of this page. Queries poll while the page is visible, not in the background. */

/** Fast enough to watch a turn, slow enough that ten open pages cause little load. */
export const oftenMs = 5_000
/** For lists that only grow after failures. */
export const seldomMs = 15_000
