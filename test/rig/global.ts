/** For `node --test --test-global-setup`: one PostgreSQL for the whole run. */
import { type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startPostgres()
  process.env.GATEHOOK_TEST_POSTGRES = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
