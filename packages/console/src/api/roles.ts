/** The server's own table of roles and permissions, which has no other imports. The server decides; the console only explains. */
export { permissions, roles } from '../../../../src/operators/principal.ts'
