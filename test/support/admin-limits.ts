/** The settings of a server whose admin API is used by a test or a benchmark as much as by a program in an hour. */
export const ampleAdminLimits = { TURNKEEP_ADMIN_RATE_LIMIT: '1000000', TURNKEEP_ADMIN_MAX_PARALLEL: '1000' }
