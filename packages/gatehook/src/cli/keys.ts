/** `gatehook keys …`: API keys (§3.2, §13), and the keys that sign access tokens. */
import type { ApiKeyJson, createdApiKey, NewApiKey } from '../identity/access/key-members.ts'
import { type ListedKeyJson, listedKey } from '../identity/access/listed-keys.ts'
import { keyOperations } from '../identity/access/operations.ts'
import type { JsonOf } from '../protocol/fields/members.ts'
import { administration } from './api.ts'
import { filterOf, filterOptions } from './arguments.ts'
import type { BodyWords } from './body-options.ts'
import type { CommandFamily } from './command.ts'
import { cliActor, installation } from './installation.ts'
import { ANY_SERVICE, operationCommand } from './operation-command.ts'
import { bold } from './output.ts'

/** A key that was taken over has no text here. */
const secretText = (verb: string, { id, name, mode, key }: JsonOf<typeof createdApiKey>) =>
  `${verb} ${bold(id)} (${name}, ${mode}). ` +
  (key === undefined
    ? 'The key that you have issued works.'
    : `The key, displayed only once:\n\n  ${bold(key)}\n`)

const { create, update, revoke, roll } = keyOperations(ANY_SERVICE)

const words: BodyWords = {
  expires_at: { meaning: 'when it expires: an instant, or a span from now: 90d' },
  api_version: { option: 'pin', meaning: 'the API version of requests that name none' },
}

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
    operationCommand<JsonOf<typeof createdApiKey>>(administration, {
      name: 'create',
      summary: 'a new key, displayed once',
      operation: create,
      words,
      examples: [
        ['gatehook keys create --name Operator --scopes admin', 'a key for /admin'],
        [
          'gatehook keys create --name CI --mode test --scopes events:read --expires 30d',
          'a key that expires',
        ],
      ],
      describe: (key) => secretText('Created', key),
    }),
    operationCommand<ApiKeyJson>(administration, {
      name: 'update <ID>',
      summary: 'changes name, scopes, addresses, expiry or version, at once',
      operation: update,
      words,
      examples: [
        ['gatehook keys update key_… --scopes events:read', 'leaves it the scope events:read'],
        ['gatehook keys update key_… --expires 1d', 'it expires tomorrow'],
        ['gatehook keys update key_… --cidrs none', 'accepted from every address'],
      ],
      describe: ({ id, scopes, cidrs, expires_at }) =>
        `Updated ${bold(id)}: scopes ${scopes.join(' ') || 'none'}; ` +
        `addresses ${cidrs.join(' ') || 'all'}; expires ${expires_at ?? 'never'}.`,
    }),
    operationCommand(administration, {
      name: 'revoke <ID>',
      summary: 'revokes a key at once',
      operation: revoke,
      examples: [['gatehook keys revoke key_…', 'rejected on every node within 2 seconds']],
      resultOf: (_, id) => ({ id, revoked: true }),
      describe: ({ id }) => `Revoked ${bold(id)}. Every node rejects it within 2 seconds.`,
    }),
    operationCommand<NewApiKey>(administration, {
      name: 'roll <ID>',
      summary: 'a new secret under the same id',
      operation: roll,
      examples: [['gatehook keys roll key_… --overlap 1h', 'both secrets work for an hour']],
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
