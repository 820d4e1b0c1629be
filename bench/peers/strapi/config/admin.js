/** The admin's pages and tokens are not used; secrets must be there all the same. */
module.exports = {
  serveAdminPanel: false,
  auth: { secret: 'bench' },
  apiToken: { salt: 'bench' },
  transfer: { token: { salt: 'bench' } },
  secrets: { encryptionKey: 'bench'.repeat(8).slice(0, 32) },
}
