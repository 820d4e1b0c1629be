/** Logs warnings, not requests. */
module.exports = { level: 'warn' }
