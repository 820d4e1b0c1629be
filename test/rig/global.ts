/** Global setup of `npm test`: server, templates and modules of all files (`modules.ts`). */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderOfDatabases } from './memory.ts'
import { writeModuleStore } from './module-store.ts'
import { createDatabase, type PostgresServer, startPostgres } from './postgres.ts'
import { createTemplateDatabase, createTemplateFile } from './templates.ts'

let server: PostgresServer | undefined
let folder: string | undefined

export async function globalSetup(): Promise<void> {
  // Each test file is a process: without the cache, compiling takes two thirds of its start.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'gatehook-compiled')
  server = await startPostgres()
  process.env.GATEHOOK_TEST_POSTGRES = server.url
  folder = await mkdtemp(join(folderOfDatabases(), 'gatehook-templates-'))
  writeModuleStore(join(import.meta.dirname, '..', '..'), folder)
  process.env.GATEHOOK_TEST_MODULES = folder
  process.env.GATEHOOK_TEST_TEMPLATE_DATABASE = await createTemplateDatabase(server.url)
  process.env.GATEHOOK_TEST_TEMPLATE_FILE = await createTemplateFile(folder)
  await import('./modules.ts') // loads the engine from the file of modules
  const { startReference } = await import('./reference.ts')
  process.env.GATEHOOK_TEST_STARTED_POSTGRES = await createDatabase(server.url)
  process.env.GATEHOOK_TEST_STARTED_SQLITE = `sqlite:${join(folder, 'started.db')}`
  await startReference(process.env.GATEHOOK_TEST_STARTED_POSTGRES)
  await startReference(process.env.GATEHOOK_TEST_STARTED_SQLITE)
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
}
