/** The help after an error: the server's sentence, and at most two operations. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { get, send, withQuery } from '../../api.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import type { ApiKey, Page, RequestDetail } from '../api-shapes.ts'
import { customerName } from '../customer-names.ts'

interface RequestHelpProps {
  readonly request: RequestDetail
  /** The link to similar requests. */
  readonly more: ComponentChildren
}

export function RequestHelp({ request, more }: RequestHelpProps) {
  const { help } = request
  return (
    <>
      {help && (
        <p>
          <b>What helps.</b> {help.text} <OtherKey request={request} />
        </p>
      )}
      <div class="bar">
        {help?.actions.map((name) => {
          const Action = ACTIONS[name]
          return Action && <Action key={name} request={request} />
        })}
        {more}
      </div>
    </>
  )
}

/** The scope that the operation requires, if the credential lacks it. */
const missingScope = ({ gates, error }: RequestDetail): string | undefined => {
  if (error !== 'insufficient_scope') return undefined
  const facts = gates.find(({ outcome }) => outcome === 'refused')?.facts
  return typeof facts?.scope === 'string' ? facts.scope : undefined
}

const MAX_KEYS = 100

/** Another key of the customer that has the missing scope. */
function OtherKey({ request }: { readonly request: RequestDetail }) {
  const scope = missingScope(request)
  const { customer, mode, credential } = request
  const path =
    scope && customer ? withQuery('/admin/keys', { customer, limit: MAX_KEYS }) : undefined
  const { data } = useLoaded<Page<ApiKey>>(path)
  const other = data?.data.find(
    (key) => key.mode === mode && key.id !== credential?.id && key.scopes.includes(scope!),
  )
  if (!other) return null
  return (
    <>
      The key <a href={href(`/console/keys/${other.id}`)}>{other.name}</a> of the same customer has
      it.
    </>
  )
}

interface ActionProps {
  readonly request: RequestDetail
}

function AddScope({ request }: ActionProps) {
  const [isOpen, setOpen] = useState(false)
  const [isDone, setDone] = useState(false)
  const scope = missingScope(request)
  const { credential, customer, mode } = request
  const path = scope && credential?.kind === 'key' ? `/admin/keys/${credential.id}` : undefined
  // The key may have received the scope, or been revoked, since the request.
  const present = useLoaded<ApiKey>(path).data
  if (!scope || path === undefined || !credential || !present) return null
  const name = credential.name ?? credential.id
  const run = async () => {
    const key = await get<ApiKey>(path)
    await send('PATCH', path, { body: { scopes: [...new Set([...key.scopes, scope])] } })
    setDone(true)
    say(`${name} has ${scope}`)
  }
  if (isDone || present.scopes.includes(scope)) {
    return (
      <p class="c-ok" role="status">
        {name} has <code>{scope}</code> now. Repeat the request.
      </p>
    )
  }
  return (
    <>
      <Button kind="first" size="tiny" onClick={() => setOpen(true)}>
        Add {scope} to {name}
      </Button>
      {isOpen && (
        <Confirm
          title={`Add ${scope} to ${name}?`}
          verb="Add the scope"
          run={run}
          onClose={() => setOpen(false)}
        >
          <p>
            A holder of this key can then use every operation with <code>{scope}</code> for{' '}
            <b>{customer === null ? 'its customer' : customerName(customer)}</b> in {mode} mode. The
            change applies on every node within 2 seconds.
          </p>
        </Confirm>
      )}
    </>
  )
}

const linkTo = (label: string, hrefOf: (request: RequestDetail) => string | undefined) =>
  function LinkAction({ request }: ActionProps) {
    const url = hrefOf(request)
    return url === undefined ? null : (
      <Button size="tiny" href={url}>
        {label}
      </Button>
    )
  }

const scopeWords = ({ customer, mode }: RequestDetail) => ({
  customer,
  mode: mode === 'test' ? 'test' : undefined,
})

/** The operations that the server names in `help.actions`. */
const ACTIONS: Readonly<Record<string, (props: ActionProps) => ComponentChildren>> = {
  add_scope: AddScope,
  open_key: linkTo('Open the key', ({ credential }) =>
    credential?.kind === 'key' ? href(`/console/keys/${credential.id}`) : undefined,
  ),
  open_client: linkTo('Open the client', ({ credential }) => {
    if (credential?.kind === 'workload') return href(`/console/issuers/${credential.id}`)
    return credential?.kind === 'client' ? href(`/console/clients/${credential.id}`) : undefined
  }),
  open_object: linkTo('Open the row', (request) =>
    request.object === null
      ? undefined
      : href(`/console/data/${request.object}`, scopeWords(request)),
  ),
  open_customer: linkTo('Open the customer', ({ customer }) =>
    customer === null ? undefined : href(`/console/customers/${customer}`),
  ),
  open_version: linkTo('Requests of this version', ({ version }) =>
    version === null ? undefined : href(`/console/versions/${version}`),
  ),
  open_system: linkTo('Open the system page', () => href('/console/system')),
}
