/** Without admin pages. The salt is for hashes of API tokens; the other secrets are required. */
module.exports = {
  serveAdminPanel: false,
  auth: { secret: 'bench' },
  apiToken: { salt: 'bench' },
  transfer: { token: { salt: 'bench' } },
  secrets: { encryptionKey: 'bench'.repeat(8).slice(0, 32) },
}
