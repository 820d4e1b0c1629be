/** What is told of a run: warnings, not requests. */
module.exports = { level: 'warn' }
