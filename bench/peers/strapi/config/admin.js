/** The admin's pages are not used. The salt makes hashes of API tokens; the others must be there. */
module.exports = {
  serveAdminPanel: false,
  auth: { secret: 'bench' },
  apiToken: { salt: 'bench' },
  transfer: { token: { salt: 'bench' } },
  secrets: { encryptionKey: 'bench'.repeat(8).slice(0, 32) },
}
