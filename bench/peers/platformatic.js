/**
 * Platformatic DB in production mode: its REST API of the table, and a plugin that checks the key.
 * No GraphQL, no events; logs no request.
 *
 *   --db FILE
 */
import { fileURLToPath } from 'node:url'
import { create } from '@platformatic/db'
import { announce, option } from './announce.js'

const db = await create(
  fileURLToPath(new URL('.', import.meta.url)),
  {
    $schema: 'https://schemas.platformatic.dev/@platformatic/db/3.67.0.json',
    db: {
      connectionString: `sqlite://${option('db')}`,
      openapi: true,
      graphql: false,
      events: false,
      ignore: { api_keys: true, sqlite_sequence: true },
    },
    plugins: { paths: [{ path: fileURLToPath(new URL('platformatic-key.js', import.meta.url)) }] },
    watch: false,
  },
  {
    isEntrypoint: true,
    isProduction: true,
    serverConfig: { hostname: '127.0.0.1', port: 0, logger: { level: 'warn' } },
  },
)
await db.init()
announce(await db.start({ listen: true }), () => db.stop())
