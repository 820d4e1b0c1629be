/**
 * Directus in production mode without its app, sockets and request log. Caches have their defaults:
 * none of responses, but of the schema and of permissions.
 *
 *   --db FILE   --bootstrap: creates the tables and exits
 */
import { fileURLToPath } from 'node:url'

const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1]

Object.assign(process.env, {
  NODE_ENV: 'production',
  DB_CLIENT: 'sqlite3',
  DB_FILENAME: option('db'),
  KEY: 'bench',
  SECRET: 'bench'.repeat(7),
  PUBLIC_URL: 'http://127.0.0.1',
  LOG_LEVEL: 'warn',
  SERVE_APP: 'false',
  TELEMETRY: 'false',
  CACHE_ENABLED: 'false',
  RATE_LIMITER_ENABLED: 'false',
  WEBSOCKETS_ENABLED: 'false',
})

if (process.argv.includes('--bootstrap')) {
  process.argv.splice(2, process.argv.length, 'bootstrap', '--skipAdminInit')
  process.argv[1] = fileURLToPath(import.meta.resolve('@directus/api/cli/run.js'))
  await import('@directus/api/cli/run.js')
} else {
  const { createServer } = await import('@directus/api/server')
  const server = await createServer()
  server.listen(0, '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}`
    process.stdout.write(`${JSON.stringify({ url })}\n`)
  })
}
