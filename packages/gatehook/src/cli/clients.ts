/** `gatehook clients …` (§5.5): the acts of §13 on OAuth clients, by the same functions as HTTP. */
import { customerId, DEFAULT_CUSTOMER } from '../access/administration.ts'
import {
  createClient,
  deleteClient,
  listClients,
  type NewClient,
  rotateSecret,
} from '../oauth/clients.ts'
import type { CommandSpec, FamilySpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { engineOptions, everyPage, FIRST, known, withApp } from './engine.ts'
import { checkScopes, cliActor, words } from './keys.ts'
import { UsageError } from './mistake.ts'
import { bold, dim, table } from './output.ts'

const caller = () => ({ actor: cliActor(), customer: DEFAULT_CUSTOMER })

async function list(input: Input): Promise<undefined> {
  const { mode } = input.options
  const customer = input.options.customer && customerId(String(input.options.customer))
  const clients = await withApp(input, ({ oauth: { administration } }) =>
    everyPage(async (after, limit) => {
      const page = await listClients(administration.db, after, limit)
      return page.map((client) => ({ ...client, id: client.client_id }))
    }),
  )
  const wanted = clients
    .filter((one) => (!customer || one.customer === customer) && (!mode || one.mode === mode))
    .map(({ id: _, ...client }) => client)
  input.out.result({ data: wanted }, () =>
    wanted.length === 0
      ? 'No clients. Make one: gatehook clients create --name "My app" --redirect-uri https://…'
      : table(
          ['client_id', 'name', 'customer', 'mode', 'kind', 'returns to', 'scopes'],
          wanted.map((client) => [
            client.client_id,
            client.name,
            client.customer,
            client.mode,
            client.public ? 'public' : 'secret',
            client.redirect_uris.join(' ') || dim('nowhere'),
            client.scopes.join(' '), // last: there may be many
          ]),
        ),
  )
  return
}

const shownOnce = ({ client_id, client_secret, name, mode }: NewClient, what: string) =>
  `${what} ${bold(client_id)} (${name}, ${mode}). ${
    client_secret === undefined
      ? 'It is public: it has no secret.\n'
      : `The secret, shown this once:\n\n  ${bold(client_secret)}\n`
  }`

async function create(input: Input): Promise<undefined> {
  const { name, redirectUri, scope, grantType, customer, mode, ...more } = input.options
  if (!name) throw new UsageError('Give the client a name: --name "My app"')
  const client = await withApp(
    input,
    async ({ oauth: { administration } }) => {
      const scopes = words(scope)
      checkScopes(scopes, administration.scopes, 'client', '--scope')
      const wish = {
        name,
        redirect_uris: words(redirectUri),
        scopes,
        public: more.public === true,
        grant_types: grantType === undefined ? undefined : words(grantType),
        require_client_auth_on_refresh: more.requireClientAuthOnRefresh === true,
        customer,
        mode,
      }
      return createClient(administration, wish, caller())
    },
    FIRST,
  )
  input.out.result(client, () => shownOnce(client, 'Created'))
  return
}

async function remove(input: Input): Promise<undefined> {
  const id = input.args[0] ?? ''
  await withApp(input, ({ oauth: { administration } }) =>
    known('client', id, deleteClient(administration, id, caller())),
  )
  input.out.result(
    { client_id: id, deleted: true },
    () => `Deleted ${bold(id)}. Its tokens are refused within 2 seconds.`,
  )
  return
}

async function rotate(input: Input): Promise<undefined> {
  const id = input.args[0] ?? ''
  const { overlap } = input.options
  const overlapS = overlap === undefined ? undefined : parseDuration(String(overlap))
  if (overlap !== undefined && overlapS === undefined) {
    throw new UsageError(`--overlap is "${overlap}"; expected a span such as 24h, 30m or 0s.`)
  }
  const wish = { overlap_seconds: overlapS }
  const client = await withApp(input, ({ oauth: { administration } }) =>
    known('client', id, rotateSecret(administration, id, wish, caller())),
  )
  input.out.result(client, () => shownOnce(client, 'Rotated'))
  return
}

const making = 'gatehook clients create --scope events:read'

const config: CommandSpec['config'] = ['databaseUrl']
const options = engineOptions

export const clients: FamilySpec = {
  name: 'clients',
  summary: 'OAuth clients: list, create, delete, rotate-secret',
  commands: [
    {
      name: 'list',
      summary: 'clients there are',
      options: [
        ...options,
        ['--customer <ID>', 'only of this customer'],
        ['--mode <MODE>', 'only live or test'],
      ],
      config,
      examples: [['gatehook clients list', 'which applications may ask for tokens']],
      run: list,
    },
    {
      name: 'create',
      summary: 'a new client; its secret is shown once',
      options: [
        ...options,
        ['--name <NAME>', 'what people are shown when they are asked'],
        ['--redirect-uri <URIS...>', 'where it may be returned to, exactly'],
        ['--scope <SCOPES...>', 'what it may ask for, separated by commas or spaces'],
        ['--public', 'an app in a browser or on a device: it has no secret'],
        ['--grant-type <TYPES...>', 'authorization_code, client_credentials, refresh_token'],
        ['--require-client-auth-on-refresh', 'its refresh tokens are useless without its secret'],
        ['--customer <ID>', 'whose it is (default: default)'],
        ['--mode <MODE>', 'live (default) or test'],
      ],
      config,
      examples: [
        [`${making} --name Shop --redirect-uri https://shop.example/callback`, 'a web application'],
        [
          `${making} --name Desk --public --redirect-uri http://127.0.0.1/callback`,
          'an app on a person’s machine; any port will do',
        ],
      ],
      run: create,
    },
    {
      name: 'delete <CLIENT_ID>',
      summary: 'ends a client and all its tokens',
      options,
      config,
      examples: [['gatehook clients delete client_…', 'gone on every node within 2 seconds']],
      run: remove,
    },
    {
      name: 'rotate-secret <CLIENT_ID>',
      summary: 'a new secret beside the old one',
      options: [...options, ['--overlap <SPAN>', 'how long the old one stays good (default 24h)']],
      config,
      examples: [['gatehook clients rotate-secret client_… --overlap 1h', 'swap it in meanwhile']],
      run: rotate,
    },
  ],
}
