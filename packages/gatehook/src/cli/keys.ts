/** `gatehook keys …`: the acts of §13 on API keys, by the same functions as HTTP. */
import { userInfo } from 'node:os'
import { type Administration, customerId, DEFAULT_CUSTOMER } from '../access/administration.ts'
import { createKey, listKeys, type NewKey, revokeKey, rollKey } from '../access/keys.ts'
import { closest } from '../config/closest.ts'
import { isoTime } from '../kernel/time.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { engineOptions, everyPage, FIRST, known, withApp } from './engine.ts'
import { UsageError } from './mistake.ts'
import { bold, dim, table } from './output.ts'

/** Who the audit trail names for acts of the command line: the account that runs it. */
export const cliActor = () => ({ kind: 'cli', id: userInfo().username }) as const

const caller = () => ({ actor: cliActor(), customer: DEFAULT_CUSTOMER })

/** `a,b c` and repetitions of the option alike. */
export const words = (value: unknown): string[] =>
  [value ?? []].flat().flatMap((text) =>
    String(text)
      .split(/[,\s]+/)
      .filter(Boolean),
  )

async function list(input: Input): Promise<undefined> {
  const { mode } = input.options
  const customer = input.options.customer && customerId(String(input.options.customer))
  const keys = await withApp(input, ({ administration }) =>
    everyPage((after, limit) => listKeys(administration.db, after, limit)),
  )
  const wanted = keys.filter(
    (key) => (!customer || key.customer === customer) && (!mode || key.mode === mode),
  )
  input.out.result({ data: wanted }, () =>
    wanted.length === 0
      ? 'No keys. Make one: gatehook keys create --name mine --scopes admin'
      : table(
          ['id', 'name', 'customer', 'mode', 'key', 'expires', 'last used', 'scopes'],
          wanted.map((key) => [
            key.id,
            key.name,
            key.customer,
            key.mode,
            key.hint,
            key.expires_at ?? dim('never'),
            key.last_used_at ?? dim('never'),
            key.scopes.join(' '), // last: there may be many
          ]),
        ),
  )
  return
}

/** Throws a `UsageError` for no scope at all, and for one that is not `known`. */
export function checkScopes(
  scopes: readonly string[],
  known: ReadonlySet<string>,
  what = 'key',
  option = '--scopes',
): void {
  const unknown = scopes.find((scope) => !known.has(scope))
  if (scopes.length > 0 && unknown === undefined) return
  const all = [...known].sort()
  const list = all.join(' ')
  const meant = unknown === undefined ? undefined : closest(unknown, all)
  throw new UsageError(
    unknown === undefined
      ? `Say what the ${what} may do: ${option}, of ${list}`
      : `There is no scope "${unknown}". ${meant ? `Did you mean ${meant}?` : `Known: ${list}`}`,
  )
}

/** An instant as it is, a span counted from now. */
function expiry(text: unknown, admin: Administration): string | undefined {
  if (text === undefined) return undefined
  const spanS = parseDuration(String(text))
  return spanS === undefined ? String(text) : isoTime(admin.clock.now() + spanS * 1000)
}

const shownOnce = ({ id, name, mode, key }: NewKey, what: string) =>
  `${what} ${bold(id)} (${name}, ${mode}). The key, shown this once:\n\n  ${bold(key)}\n`

async function create(input: Input): Promise<undefined> {
  const { name, customer, mode, expires, cidrs, pin } = input.options
  if (!name) throw new UsageError('Give the key a name: --name "Billing service"')
  const key = await withApp(
    input,
    async ({ administration }) => {
      const scopes = words(input.options.scopes)
      checkScopes(scopes, administration.scopes)
      const wish = {
        name,
        scopes,
        customer,
        mode,
        expires_at: expiry(expires, administration),
        cidrs: cidrs === undefined ? undefined : words(cidrs),
        api_version: pin,
      }
      return createKey(administration, wish, caller())
    },
    FIRST,
  )
  input.out.result(key, () => shownOnce(key, 'Created'))
  return
}

async function revoke(input: Input): Promise<undefined> {
  const id = input.args[0] ?? ''
  await withApp(input, ({ administration }) =>
    known('key', id, revokeKey(administration, id, caller())),
  )
  input.out.result(
    { id, revoked: true },
    () => `Revoked ${bold(id)}. It is refused within 2 seconds.`,
  )
  return
}

async function roll(input: Input): Promise<undefined> {
  const id = input.args[0] ?? ''
  const overlap = input.options.overlap
  const overlapS = overlap === undefined ? undefined : parseDuration(String(overlap))
  if (overlap !== undefined && overlapS === undefined) {
    throw new UsageError(`--overlap is "${overlap}"; expected a span such as 24h, 30m or 0s.`)
  }
  const key = await withApp(input, ({ administration }) =>
    known('key', id, rollKey(administration, id, { overlap_seconds: overlapS }, caller())),
  )
  input.out.result(key, () => shownOnce(key, 'Rolled'))
  return
}

async function rotateSigning(input: Input): Promise<undefined> {
  const made = await withApp(input, ({ tokens }) => tokens.rotateSigning(cliActor()))
  input.out.result(
    made,
    () =>
      `Published the signing key ${bold(made.kid)}. It signs from ${made.signs_from}; ` +
      'tokens of the old one stay good until they expire.',
  )
  return
}

const config: CommandSpec['config'] = ['databaseUrl']
const options = engineOptions

export const keys: FamilySpec = {
  name: 'keys',
  summary: 'API keys: list, create, revoke, roll; the keys that sign tokens',
  commands: [
    {
      name: 'list',
      summary: 'keys that are not revoked',
      options: [
        ...options,
        ['--customer <ID>', 'only of this customer'],
        ['--mode <MODE>', 'only live or test'],
      ],
      config,
      examples: [['gatehook keys list --mode live', 'who may act on live data']],
      run: list,
    },
    {
      name: 'create',
      summary: 'a new key, shown once',
      options: [
        ...options,
        ['--name <NAME>', 'what it is for'],
        ['--scopes <SCOPES...>', 'what it may do, separated by commas or spaces'],
        ['--customer <ID>', 'whose it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
        ['--expires <WHEN>', 'an instant, or a span from now: 90d'],
        ['--cidrs <RANGES...>', 'only from these addresses'],
        ['--pin <VERSION>', 'the API version it gets when it names none'],
      ],
      config,
      examples: [
        ['gatehook keys create --name Operator --scopes admin', 'a key for /admin'],
        ['gatehook keys create --name CI --mode test --scopes events:read --expires 30d', 'a loan'],
      ],
      run: create,
    },
    {
      name: 'revoke <ID>',
      summary: 'ends a key at once',
      options,
      config,
      examples: [['gatehook keys revoke key_…', 'refused on every node within 2 seconds']],
      run: revoke,
    },
    {
      name: 'roll <ID>',
      summary: 'a new secret under the same id',
      options: [...options, ['--overlap <SPAN>', 'how long the old one stays good (default 24h)']],
      config,
      examples: [['gatehook keys roll key_… --overlap 1h', 'swap it in within the hour']],
      run: roll,
    },
    {
      name: 'rotate-signing',
      summary: 'a new key to sign access tokens, published some minutes before it signs',
      options,
      config,
      examples: [['gatehook keys rotate-signing', 'done by itself every 90 days']],
      run: rotateSigning,
    },
  ],
}
