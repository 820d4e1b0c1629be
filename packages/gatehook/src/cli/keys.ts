/** `gatehook keys …`: API keys (§3.2, §13), and the keys that sign access tokens. */
import type { ApiKeyJson, NewApiKey } from '../identity/access/key-members.ts'
import { type ListedKeyJson, listedKey } from '../identity/access/listed-keys.ts'
import { administration, declaredScopes } from './api.ts'
import {
  filterOf,
  filterOptions,
  instantOf,
  overlapOf,
  overlapOption,
  requireScopes,
  words,
} from './arguments.ts'
import type { CommandFamily } from './command.ts'
import { UsageError } from './errors.ts'
import { cliActor, installation } from './installation.ts'
import { bold } from './output.ts'

const secretText = (verb: string, { id, name, mode, key }: NewApiKey) =>
  `${verb} ${bold(id)} (${name}, ${mode}). The key, displayed only once:\n\n  ${bold(key)}\n`

const pathOf = (id: unknown) => `/admin/keys/${encodeURIComponent(String(id))}`

type SigningKeyChange =
  | { readonly kid: string; readonly signs_from: string }
  | { readonly kid: string; readonly deleted: readonly string[] }

export const keys: CommandFamily = {
  name: 'keys',
  summary: 'API keys: list, create, update, revoke, roll; the keys that sign tokens',
  commands: [
    administration.list<ListedKeyJson>({
      name: 'list',
      summary: 'keys that are not revoked, or the revoked ones',
      options: [...filterOptions, ['--revoked', 'the revoked keys']],
      examples: [
        ['gatehook keys list --mode live', 'keys of live data'],
        ['gatehook keys list --revoked', 'revoked keys, the last one first'],
      ],
      rows: (api, input) => {
        const order = input.options.revoked ? 'revoked=true&sort=-revoked_at' : 'sort=id'
        return api.list(`/admin/keys?${order}&${filterOf(input)}`)
      },
      empty: 'No keys. Create one: gatehook keys create --name mine --scopes admin',
      columns: listedKey,
    }),
    administration.action({
      name: 'create',
      summary: 'a new key, displayed once',
      options: [
        ['--name <NAME>', 'its purpose'],
        ['--scopes <SCOPES...>', 'its scopes, separated by commas or spaces'],
        ['--customer <CUSTOMER>', 'its customer, by id or name (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
        ['--expires <WHEN>', 'an instant, or a span from now: 90d'],
        ['--cidrs <RANGES...>', 'accepted only from these addresses'],
        ['--pin <VERSION>', 'the API version of requests that name none'],
      ],
      examples: [
        ['gatehook keys create --name Operator --scopes admin', 'a key for /admin'],
        [
          'gatehook keys create --name CI --mode test --scopes events:read --expires 30d',
          'a key that expires',
        ],
      ],
      parse({ options: { name } }) {
        if (!name) throw new UsageError('Give the key a name: --name "Billing service"')
      },
      async act(api, { options: { name, customer, mode, expires, cidrs, pin, scopes: text } }) {
        const scopes = words(text)
        requireScopes(scopes, declaredScopes(api), 'key', '--scopes')
        return api.request<NewApiKey>('POST', '/admin/keys', {
          name,
          scopes,
          customer,
          mode,
          expires_at: await instantOf(expires, api.now),
          cidrs: cidrs === undefined ? undefined : words(cidrs),
          api_version: pin,
        })
      },
      describe: (key) => secretText('Created', key),
    }),
    administration.action({
      name: 'update <ID>',
      summary: 'changes name, scopes, addresses, expiry or version, at once',
      options: [
        ['--name <NAME>', 'its new purpose'],
        ['--scopes <SCOPES...>', 'its new scopes'],
        ['--cidrs <RANGES...>', 'accepted only from these addresses'],
        ['--any-address', 'accepted from every address'],
        ['--expires <WHEN>', 'an instant, or a span from now: 90d; never'],
        ['--pin <VERSION>', 'the API version of requests that name none; none'],
      ],
      examples: [
        ['gatehook keys update key_… --scopes events:read', 'leaves it the scope events:read'],
        ['gatehook keys update key_… --expires 1d', 'it expires tomorrow'],
      ],
      parse({ options: { name, scopes, cidrs, anyAddress, expires, pin } }) {
        if (cidrs !== undefined && anyAddress === true) {
          throw new UsageError('Give --cidrs or --any-address, not both.')
        }
        const all = [name, scopes, cidrs, anyAddress, expires, pin]
        if (all.every((value) => value === undefined)) {
          throw new UsageError(
            'Name what changes: --name, --scopes, --cidrs, --any-address, --expires, --pin.',
          )
        }
      },
      async act(api, { args: [id], options }) {
        const { name, scopes: text, cidrs, anyAddress, expires, pin } = options
        const scopes = text === undefined ? undefined : words(text)
        if (scopes) requireScopes(scopes, declaredScopes(api), 'key', '--scopes')
        return api.request<ApiKeyJson>('PATCH', pathOf(id), {
          name,
          api_version: pin === 'none' ? null : pin,
          scopes,
          cidrs: anyAddress === true ? [] : cidrs === undefined ? undefined : words(cidrs),
          expires_at: expires === 'never' ? null : await instantOf(expires, api.now),
        })
      },
      describe: ({ id, scopes, cidrs, expires_at }) =>
        `Updated ${bold(id)}: scopes ${scopes.join(' ') || 'none'}; ` +
        `addresses ${cidrs.join(' ') || 'all'}; expires ${expires_at ?? 'never'}.`,
    }),
    administration.action({
      name: 'revoke <ID>',
      summary: 'revokes a key at once',
      examples: [['gatehook keys revoke key_…', 'rejected on every node within 2 seconds']],
      async act(api, { args: [id = ''] }) {
        await api.request('DELETE', pathOf(id))
        return { id, revoked: true }
      },
      describe: ({ id }) => `Revoked ${bold(id)}. Every node rejects it within 2 seconds.`,
    }),
    administration.action({
      name: 'roll <ID>',
      summary: 'a new secret under the same id',
      options: [overlapOption],
      examples: [['gatehook keys roll key_… --overlap 1h', 'both secrets work for an hour']],
      parse: (input) => ({ overlap_seconds: overlapOf(input) }),
      act: (api, { args: [id] }, body) =>
        api.request<NewApiKey>('POST', `${pathOf(id)}/roll`, body),
      describe: (key) => secretText('Rolled', key),
    }),
    installation.action({
      name: 'rotate-signing',
      summary: 'a new key that signs access tokens, published some minutes before it signs',
      description:
        'With --now, for a key that leaked: deletes all keys, and the new one signs at once. ' +
        'Nodes reject every earlier access token within 2 s; clients refresh. Other verifiers ' +
        'may cache the key set for 5 minutes.',
      options: [['--now', 'a key has leaked: reject its tokens at once']],
      examples: [
        ['gatehook keys rotate-signing', 'the engine does so every 90 days'],
        ['gatehook keys rotate-signing --now', 'after a leak'],
      ],
      act: ({ tokens }, { options }): Promise<SigningKeyChange> =>
        options.now === true
          ? tokens.replaceSigningKeys(cliActor())
          : tokens.rotateSigningKey(cliActor()),
      describe: (change) =>
        'deleted' in change
          ? `The signing key ${bold(change.kid)} signs now. Deleted ${change.deleted.length}: ` +
            'access tokens of these keys are rejected within 2 s.'
          : `Published the signing key ${bold(change.kid)}. It signs from ${change.signs_from}; ` +
            'tokens of the previous key stay valid until they expire.',
    }),
  ],
}
