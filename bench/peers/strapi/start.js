/**
 * Strapi in production mode, without its admin pages. The list asks for an API token.
 *
 *   --db FILE   --key KEY: makes a token of this text that may read, before the URL is printed
 */
const { createStrapi } = require('@strapi/strapi')
const { option } = require('./option.js')

const app = createStrapi({ appDir: __dirname, distDir: __dirname, serveAdminPanel: false })
app.start().then(async () => {
  if (process.argv.includes('--key')) await makeToken(option('key'))
  const { port } = app.server.httpServer.address()
  process.once('SIGTERM', async () => {
    await app.destroy()
    process.exit(0)
  })
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})

/** The service draws a text of its own, which nobody would know; its hash is put in place of that. */
async function makeToken(key) {
  const tokens = app.service('admin::api-token')
  const { id } = await tokens.create({ name: 'bench', type: 'read-only', lifespan: null })
  const data = { accessKey: tokens.hash(key) }
  await app.db.query('admin::api-token').update({ where: { id }, data })
}
