/** For `node --test --test-global-setup`: one PostgreSQL, one cache of code for the whole run. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  // Every file is a process of its own: two thirds of its start is compiling what others have.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'gatehook-compiled')
  server = await startPostgres()
  process.env.GATEHOOK_TEST_POSTGRES = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
