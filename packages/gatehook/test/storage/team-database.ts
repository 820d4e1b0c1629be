/** A database of a team, in which Gatehook has a schema (§17.1). */
import type { TestContext } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { f, resource, service } from '../../src/gatehook.ts'

export const ACCESS = {
  read: 'notes:read',
  create: 'notes:write',
  update: 'notes:write',
  delete: 'notes:write',
}
export const notes = resource('notes', {
  fields: { id: f.id('no'), text: f.string() },
  list: { filter: [], contains: ['text'], sort: [] },
  access: ACCESS,
  events: ['note.created'],
})
export const HEAD = { name: 'notes', versions: { v1: { released: '2026-06-01' } } }
export const OWN = service({ ...HEAD, resources: [notes] })

export interface Place {
  /** The address of the team's database, as the role of a node. */
  readonly url: string
  /** Runs a statement as the team. */
  readonly query: (text: string) => Promise<Record<string, unknown>[]>
}

/** A database with a table of the team, and a role that owns two schemas and nothing else. */
export async function openTeamDatabase(t: TestContext): Promise<Place> {
  const admin = await freshUrl(t, 'postgres')
  const client = new pg.Client(admin)
  await client.connect()
  const database = new URL(admin).pathname.slice(1)
  const role = `node_${database}`
  const query = async (text: string) => (await client.query(text)).rows
  await query('CREATE TABLE users (id int); INSERT INTO users VALUES (1)')
  await query(`CREATE ROLE ${role} LOGIN PASSWORD 'node'`)
  await query(`REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
  for (const name of ['one', 'two']) await query(`CREATE SCHEMA ${name} AUTHORIZATION ${role}`)
  onEnd(t, async () => {
    const owner = `owner_${database}`
    await query(`CREATE ROLE ${owner}`).catch(() => undefined)
    for (const name of [role, owner])
      await query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`)
    await client.end()
  })
  const url = new URL(admin)
  url.username = role
  url.password = 'node'
  return { url: url.href, query }
}

export const inSchema = (name: string) => ({ GATEHOOK_DATABASE_SCHEMA: name })
