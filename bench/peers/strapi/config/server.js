/** Any free port, no request logged. Keys protect sessions nobody opens. */
module.exports = {
  host: '127.0.0.1',
  port: 0,
  app: { keys: ['bench'] },
  transfer: { remote: { enabled: false } },
}
