/** A total only where it is asked for. */
module.exports = { rest: { defaultLimit: 20, maxLimit: 100, withCount: false } }
