/** A team whose role emits events in its own transactions (§17.2). */
import type { TestContext } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { openService, type TestApp, type TestAppOptions } from '../../../../test/rig/service.ts'
import { event, f, fields, service } from '../../src/gatehook.ts'
import { type EmissionGrant, installation } from '../../src/outbound/emissions/grants.ts'
import { placeOf } from '../../src/platform/storage/postgres-place.ts'
import { HEAD, inSchema, openTeamDatabase, type Place } from './team-database.ts'

export const invoicePaid = event(
  'invoice.paid',
  fields({ id: f.string().max(40), total_cents: f.int().min(0) }),
)
export const EMITTING = service({
  ...HEAD,
  resources: [],
  externalEvents: [
    { event: invoicePaid, from: ['sql'] },
    'payment.failed',
    { type: 'payment.posted', from: ['api'] },
  ],
})

export type EmittedRow = Record<string, unknown>

export interface Emitter extends Place {
  readonly app: TestApp
  /** The role of the team's application. */
  readonly role: string
  /** Gives a role a grant, in place of its former one. */
  readonly grant: (grant?: Partial<EmissionGrant>) => Promise<void>
  /** Opens a connection of a role; default: that of the application. */
  readonly connect: (role?: string) => Promise<pg.Client>
  /** Creates a role that can log in. */
  readonly createRole: (name: string) => Promise<string>
}

/** Opens a service in the schema `one`, with a role that has a grant for all live customers. */
export async function openEmitter(t: TestContext, options: TestAppOptions = {}): Promise<Emitter> {
  const team = await openTeamDatabase(t)
  const suffix = new URL(team.url).pathname.slice(1)
  // The roles own nothing, and end with the server of the tests.
  const createRole = async (name: string) => {
    const role = `${name}_${suffix}`
    await team.query(`CREATE ROLE ${role} LOGIN PASSWORD 'app'`)
    return role
  }
  const role = await createRole('app')
  const app = await openService(t, 'postgres', {
    service: EMITTING,
    url: team.url,
    env: inSchema('one'),
    ...options,
  })
  const place = placeOf({ schema: 'one' })
  const grant: Emitter['grant'] = (changes) =>
    app.app.db.migrate(async (_, ddl) => {
      const all: EmissionGrant = { role, customers: undefined, mode: 'live', types: undefined }
      for (const text of installation(place, { ...all, ...changes }, [])) await ddl(text)
    })
  await grant()
  const connect: Emitter['connect'] = async (name = role) => {
    const url = new URL(team.url)
    url.username = name
    url.password = 'app'
    const client = new pg.Client(url.href)
    await client.connect()
    onEnd(t, () => client.end())
    return client
  }
  return { ...team, app, role, grant, connect, createRole }
}

/** Calls the function, and returns the id. */
export async function emit(
  client: pg.Client,
  type: string,
  object: unknown,
  named: Readonly<Record<string, string>> = {},
): Promise<string> {
  const names = Object.keys(named)
  const rest = names.map((name, at) => `, ${name} => $${at + 3}`).join('')
  const values = [type, JSON.stringify(object), ...Object.values(named)]
  const { rows } = await client.query(
    `SELECT one.gatehook_emit($1, $2::jsonb${rest}) AS id`,
    values,
  )
  return rows[0].id
}

/** Returns the SQLSTATE with which a statement fails. */
export const codeOf = (result: Promise<unknown>): Promise<string> =>
  result.then(
    () => 'none',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  )
