/** How often this page asks. The queries do it while the page is seen, and not in the background. */

/** Fast enough to watch a turn, slow enough that ten open pages are nothing. */
export const oftenMs = 5_000
/** For what only grows by accidents. */
export const seldomMs = 15_000
