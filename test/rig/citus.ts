/**
 * Databases on a cluster of Citus, if `GATEHOOK_TEST_CITUS` has the URLs of its servers, separated
 * by commas, the coordinator first. The tests of PostgreSQL then use distributed tables.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asAdmin, createDatabase, dropDatabase, queryAsAdmin, withName } from './postgres.ts'
import { migrate } from './templates.ts'

const servers = process.env.GATEHOOK_TEST_CITUS?.split(',')

export const hasCitus: boolean = servers !== undefined

/** Returns the process ids of the servers, which run on this machine. */
export const distributedServerPids = (): Promise<number[]> =>
  Promise.all(
    servers!.map(async (server) => {
      const [row] = await queryAsAdmin(server, 'SHOW data_directory')
      return Number.parseInt(readFileSync(join(row!.data_directory, 'postmaster.pid'), 'utf8'), 10)
    }),
  )

/** Creates a database with the engine's tables on every server. Returns its URL. */
export async function createDistributedDatabase(): Promise<string> {
  const [coordinator, ...workers] = servers!
  const url = await createDatabase(coordinator!)
  const name = new URL(url).pathname.slice(1)
  await Promise.all(workers.map((server) => createDatabase(server, { name })))
  await Promise.all(
    servers!.map((server) => asAdmin(withName(server, name), 'CREATE EXTENSION citus')),
  )
  const hostOf = (server: string) => `'${new URL(server).hostname}', ${new URL(server).port}`
  await asAdmin(url, `SELECT citus_set_coordinator_host(${hostOf(coordinator!)})`)
  for (const worker of workers) {
    // It copies the roles, which are of the whole server: files would change them at once.
    const add = `SELECT citus_add_node(${hostOf(worker)})`
    await asAdmin(url, `SET citus.enable_alter_role_propagation = off; ${add}`)
  }
  await migrate({ url, distributed: 'citus' })
  return url
}

export async function dropDistributedDatabase(url: string): Promise<void> {
  for (const server of servers!) {
    await dropDatabase(server, withName(server, new URL(url).pathname.slice(1)))
  }
}
