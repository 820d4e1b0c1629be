/**
 * Strapi in production mode, without its admin pages; the list is open, so no key is looked up.
 *
 *   --db FILE
 */
const { createStrapi } = require('@strapi/strapi')

const app = createStrapi({ appDir: __dirname, distDir: __dirname, serveAdminPanel: false })
app.start().then(() => {
  const { port } = app.server.httpServer.address()
  process.once('SIGTERM', async () => {
    await app.destroy()
    process.exit(0)
  })
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
