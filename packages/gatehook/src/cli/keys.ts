/** `gatehook keys …`: the acts of §13 on API keys, by the same functions as HTTP. */
import { keyTable } from '../access/collections.ts'
import { updateKey } from '../access/key-update.ts'
import { createKey, type NewApiKey, revokeKey, rollKey } from '../access/keys.ts'
import type { FamilySpec } from './command.ts'
import { cliActor, cliCaller, engine, FIRST, known } from './engine.ts'
import { UsageError } from './mistake.ts'
import { bold, dim } from './output.ts'
import {
  checkScopes,
  instantOf,
  isMeant,
  meantOptions,
  overlapOf,
  overlapOption,
  words,
} from './typed.ts'

const shownOnce = ({ id, name, mode, key }: NewApiKey, what: string) =>
  `${what} ${bold(id)} (${name}, ${mode}). The key, shown this once:\n\n  ${bold(key)}\n`

export const keys: FamilySpec = {
  name: 'keys',
  summary: 'API keys: list, create, update, revoke, roll; the keys that sign tokens',
  commands: [
    engine.list({
      name: 'list',
      summary: 'keys that are not revoked',
      options: meantOptions,
      examples: [['gatehook keys list --mode live', 'who may act on live data']],
      rows:
        (input) =>
        async ({ db }) =>
          (await keyTable.readAll(db)).filter(isMeant(input)),
      none: 'No keys. Make one: gatehook keys create --name mine --scopes admin',
      columns: {
        id: (key) => key.id,
        name: (key) => key.name,
        customer: (key) => key.customer,
        mode: (key) => key.mode,
        key: (key) => key.hint,
        expires: (key) => key.expires_at ?? dim('never'),
        'last used': (key) => key.last_used_at ?? dim('never'),
        scopes: (key) => key.scopes.join(' '), // last: there may be many
      },
    }),
    engine.act({
      name: 'create',
      summary: 'a new key, shown once',
      options: [
        ['--name <NAME>', 'what it is for'],
        ['--scopes <SCOPES...>', 'what it may do, separated by commas or spaces'],
        ['--customer <ID>', 'whose it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
        ['--expires <WHEN>', 'an instant, or a span from now: 90d'],
        ['--cidrs <RANGES...>', 'only from these addresses'],
        ['--pin <VERSION>', 'the API version it gets when it names none'],
      ],
      examples: [
        ['gatehook keys create --name Operator --scopes admin', 'a key for /admin'],
        ['gatehook keys create --name CI --mode test --scopes events:read --expires 30d', 'a loan'],
      ],
      opening: FIRST,
      act({ options: { name, customer, mode, expires, cidrs, pin, ...more } }) {
        if (!name) throw new UsageError('Give the key a name: --name "Billing service"')
        return ({ administration }) => {
          const scopes = words(more.scopes)
          checkScopes(scopes, administration.scopes, 'key', '--scopes')
          const wish = {
            name,
            scopes,
            customer,
            mode,
            expires_at: instantOf(expires, administration),
            cidrs: cidrs === undefined ? undefined : words(cidrs),
            api_version: pin,
          }
          return createKey(administration, wish, cliCaller())
        }
      },
      said: (key) => shownOnce(key, 'Created'),
    }),
    engine.act({
      name: 'update <ID>',
      summary: 'other scopes, addresses or expiry, at once',
      options: [
        ['--scopes <SCOPES...>', 'what it may do from now on'],
        ['--cidrs <RANGES...>', 'only from these addresses'],
        ['--any-address', 'from every address'],
        ['--expires <WHEN>', 'an instant, or a span from now: 90d; never'],
      ],
      examples: [
        ['gatehook keys update key_… --scopes events:read', 'it reads events, and no more'],
        ['gatehook keys update key_… --expires 1d', 'it ends tomorrow'],
      ],
      act({ args: [id = ''], options: { scopes, cidrs, anyAddress, expires } }) {
        if (cidrs !== undefined && anyAddress === true) {
          throw new UsageError('Give --cidrs or --any-address, not both.')
        }
        return ({ administration }) => {
          const wish = {
            scopes: scopes === undefined ? undefined : words(scopes),
            cidrs: anyAddress === true ? [] : cidrs === undefined ? undefined : words(cidrs),
            expires_at: expires === 'never' ? null : instantOf(expires, administration),
          }
          if (Object.values(wish).every((value) => value === undefined)) {
            throw new UsageError('Name what changes: --scopes, --cidrs, --any-address, --expires.')
          }
          if (wish.scopes) checkScopes(wish.scopes, administration.scopes, 'key', '--scopes')
          const by = { actor: cliActor(), reach: 'all' } as const
          return known('key', id, updateKey(administration, id, wish, by))
        }
      },
      said: ({ id, scopes, cidrs, expires_at }) =>
        `Updated ${bold(id)}: scopes ${scopes.join(' ') || 'none'}; ` +
        `addresses ${cidrs.join(' ') || 'all'}; expires ${expires_at ?? 'never'}.`,
    }),
    engine.act({
      name: 'revoke <ID>',
      summary: 'ends a key at once',
      examples: [['gatehook keys revoke key_…', 'refused on every node within 2 seconds']],
      act:
        ({ args: [id = ''] }) =>
        async ({ administration }) => {
          await known('key', id, revokeKey(administration, id, cliCaller()))
          return { id, revoked: true }
        },
      said: ({ id }) => `Revoked ${bold(id)}. It is refused within 2 seconds.`,
    }),
    engine.act({
      name: 'roll <ID>',
      summary: 'a new secret under the same id',
      options: [overlapOption],
      examples: [['gatehook keys roll key_… --overlap 1h', 'swap it in within the hour']],
      act(input) {
        const [id = ''] = input.args
        const wish = { overlap_seconds: overlapOf(input) }
        return ({ administration }) =>
          known('key', id, rollKey(administration, id, wish, cliCaller()))
      },
      said: (key) => shownOnce(key, 'Rolled'),
    }),
    engine.act({
      name: 'rotate-signing',
      summary: 'a new key to sign access tokens, published some minutes before it signs',
      examples: [['gatehook keys rotate-signing', 'done by itself every 90 days']],
      act:
        () =>
        ({ tokens }) =>
          tokens.rotateSigningKey(cliActor()),
      said: ({ kid, signs_from }) =>
        `Published the signing key ${bold(kid)}. It signs from ${signs_from}; ` +
        'tokens of the old one stay good until they expire.',
    }),
  ],
}
