/** The responses of the admin API: the types of the server's contract, so that the console cannot differ from the server unnoticed. */
export type * from '../../../../src/http/contract.ts'

/** A list as it arrives, page by page. */
export type Page<Item> = { data: Item[]; next_cursor: string | null }
