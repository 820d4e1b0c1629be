/** Any free port. The keys are required but unused. */
module.exports = {
  host: '127.0.0.1',
  port: 0,
  app: { keys: ['bench'] },
  transfer: { remote: { enabled: false } },
}
