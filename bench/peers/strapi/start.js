/**
 * Strapi in production mode, without its admin pages. The list requires an API token.
 *
 *   --db FILE   --key KEY: creates a read-only token with this text before it prints the URL
 */
const { createStrapi } = require('@strapi/strapi')
const { option } = require('./option.js')

const app = createStrapi({ appDir: __dirname, distDir: __dirname, serveAdminPanel: false })
app.start().then(async () => {
  if (process.argv.includes('--key')) await createToken(option('key'))
  const { port } = app.server.httpServer.address()
  process.once('SIGTERM', async () => {
    await app.destroy()
    process.exit(0)
  })
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})

/** Creates a token and replaces the hash of its random text by the hash of `key`. */
async function createToken(key) {
  const tokens = app.service('admin::api-token')
  const { id } = await tokens.create({ name: 'bench', type: 'read-only', lifespan: null })
  const data = { accessKey: tokens.hash(key) }
  await app.db.query('admin::api-token').update({ where: { id }, data })
}
