/** What the admin API answers: the types of the server's own contract, so the console cannot differ from the server unnoticed. */
export type * from '../../../../src/http/contract.ts'

/** A list as it comes, page by page. */
export type Page<Item> = { data: Item[]; next_cursor: string | null }
