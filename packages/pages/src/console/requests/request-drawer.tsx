/** One request: head, the gates that explain its status, exchange, and its effects. */
import { type Query, withQuery } from '../../api.ts'
import { duration, instant, isoSecond } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Copy } from '../../parts/copy.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Gates } from '../../parts/gates.tsx'
import { ExchangeText } from '../../parts/json.tsx'
import { Part } from '../../parts/notices.tsx'
import { Code, Id } from '../../parts/state.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { Thread, ThreadNode } from '../../parts/thread.tsx'
import { href } from '../../router.ts'
import type { RequestDetail, RequestPage } from '../api-shapes.ts'
import { customerName } from '../customer-names.ts'
import { curlOfRequest } from './request-curl.ts'
import { gatesOf } from './request-gates.tsx'
import { RequestHelp } from './request-help.tsx'

interface RequestDrawerProps {
  readonly id: string
  readonly closeHref: string
}

export function RequestDrawer({ id, closeHref }: RequestDrawerProps) {
  const request = useLoaded<RequestDetail>(`/admin/requests/${encodeURIComponent(id)}`)
  const { data } = request
  return (
    <Drawer
      title={
        data ? (
          <>
            <Code status={data.status} />{' '}
            <span class="mono">
              {data.method} {data.path.split('?')[0]}
            </span>
          </>
        ) : (
          <span class="mono">{id}</span>
        )
      }
      closeHref={closeHref}
      actions={data && <Copy text={curlOfRequest(data)} label="Copy as curl" isCurl />}
    >
      <Part of={request} subject="the request">
        {(detail) => <Detail request={detail} />}
      </Part>
    </Drawer>
  )
}

/** The audited end of the key that the request carried. */
const Revocation = ({ at, principal }: NonNullable<RequestDetail['key_revocation']>) => (
  <p>{`Revoked ${instant(at)}, ${principal.kind} ${principal.name ?? principal.id}.`}</p>
)

function Detail({ request }: { readonly request: RequestDetail }) {
  const isError = request.status === null || request.status >= 400
  return (
    <>
      <Head request={request} />
      <section aria-labelledby="why">
        <h2 id="why">{isError ? `Why ${request.status ?? 'no response'}` : 'The gates'}</h2>
        <Gates gates={gatesOf(request)}>
          {request.key_revocation && <Revocation {...request.key_revocation} />}
          {isError && <RequestHelp request={request} more={<More {...request} />} />}
        </Gates>
      </section>
      {request.warnings.length > 0 && (
        <section aria-labelledby="warnings">
          <h2 id="warnings">Warnings in the response</h2>
          <ul class="small">
            {request.warnings.map(({ type, message }) => (
              <li key={type}>
                <code>{type}</code> {message}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="exchange">
        <h2 id="exchange">Exchange</h2>
        <ExchangeTabs request={request} />
      </section>
      <section aria-labelledby="effects">
        <h2 id="effects">Effects</h2>
        <Effects request={request} />
      </section>
    </>
  )
}

type Credential = NonNullable<RequestDetail['credential']>

const credentialHref = ({ kind, id }: Credential): string | undefined => {
  const pages: Readonly<Record<string, string>> = { key: 'keys', client: 'clients' }
  return id === null || !pages[kind] ? undefined : href(`/console/${pages[kind]}/${id}`)
}

const UNIDENTIFIED = new Set(['invalid_api_key', 'invalid_token', 'invalid_credentials'])

/** The words without a caller: a credential that the server does not have identifies none. */
const noneOf = ({ error }: RequestDetail): string =>
  UNIDENTIFIED.has(error ?? '') ? 'not identified' : 'none'

function CredentialLine({ request }: { readonly request: RequestDetail }) {
  const { credential, ip } = request
  if (!credential)
    return (
      <>
        {noneOf(request)}, from {ip}
      </>
    )
  const name = credential.name ?? credential.id ?? credential.kind
  const url = credentialHref(credential)
  return (
    <>
      {url ? <a href={url}>{name}</a> : name}{' '}
      {credential.hint && <code class="faint">{credential.hint}</code>} from {ip}
    </>
  )
}

const Head = ({ request }: { readonly request: RequestDetail }) => (
  <Facts
    of={[
      ['Id', <Id id={request.id} subject="request id" />],
      [
        'At',
        <>
          <time dateTime={request.at}>{instant(request.at)}</time>, {duration(request.took_ms)}
        </>,
      ],
      [
        'Customer',
        <>
          {request.customer === null ? (
            noneOf(request)
          ) : (
            <a href={href(`/console/customers/${request.customer}`)}>
              {customerName(request.customer)}
            </a>
          )}
          {request.mode && `, ${request.mode}`}
        </>,
      ],
      ['Credential', <CredentialLine request={request} />],
      request.object === null
        ? undefined
        : [
            'Object',
            <a href={href(`/console/data/${request.object}`, scopeOf(request))}>
              <code>{request.object}</code>
            </a>,
          ],
      request.user_agent === null ? undefined : ['User agent', request.user_agent, 'mono small'],
    ]}
  />
)

const scopeOf = ({ customer, mode }: RequestDetail): Query => ({
  customer,
  mode: mode === 'test' ? 'test' : undefined,
})

const textOf = (body: unknown): string | undefined => {
  if (body === null || body === undefined) return undefined
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Names of members that the response's errors point to. */
function markedNames({ answer }: RequestDetail): ReadonlySet<string> {
  const errors = (answer?.body as { errors?: { pointer?: string }[] } | null)?.errors
  const names = Array.isArray(errors) ? errors.map(({ pointer }) => pointer ?? '') : []
  return new Set(names.map((pointer) => pointer.split('/').at(-1) ?? ''))
}

const NOT_STORED = 'Only the exchange of an error is stored (GATEHOOK_REQUEST_LOG_BODIES).'

function ExchangeTabs({ request }: { readonly request: RequestDetail }) {
  const { answer, headers, body, body_truncated: isCut } = request
  const missing = <p class="soft small">{NOT_STORED}</p>
  const response = () =>
    answer ? (
      <ExchangeText
        start={`HTTP/1.1 ${request.status ?? ''}`}
        headers={{ 'x-request-id': request.id, ...answer.headers }}
        body={textOf(answer.body)}
      />
    ) : (
      missing
    )
  const sent = () =>
    headers ? (
      <>
        <ExchangeText
          start={`${request.method} ${request.path}`}
          headers={headers}
          body={textOf(body)}
          marked={markedNames(request)}
        />
        {isCut && (
          <p class="hint">The body has {request.body_bytes} bytes; the log has the start.</p>
        )}
      </>
    ) : (
      missing
    )
  return (
    <Tabs
      label="Exchange"
      tabs={[
        { name: 'response', label: 'Response', content: response },
        { name: 'request', label: 'Request', content: sent },
        {
          name: 'curl',
          label: 'curl',
          content: () => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls
            <pre tabIndex={0}>{curlOfRequest(request)}</pre>
          ),
        },
      ]}
    />
  )
}

function Effects({ request }: { readonly request: RequestDetail }) {
  if (request.event_ids.length === 0) {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const isError = request.status === null || request.status >= 400
    const text = isError || isRead ? 'Nothing was written, and no event was recorded.' : 'No event.'
    return <p class="soft small">{text}</p>
  }
  return (
    <Thread label="From the request to its events">
      <ThreadNode
        kind="request"
        tone="ok"
        isHere
        line={
          <span class="mono">
            {request.method} {request.path.split('?')[0]}
          </span>
        }
      />
      {request.event_ids.map((id) => (
        <ThreadNode
          key={id}
          kind="event"
          tone="ok"
          line={
            <a class="mono" href={href(`/console/events/${id}`)}>
              {id}
            </a>
          }
        />
      ))}
    </Thread>
  )
}

const DAY_MS = 86_400_000
const MORE_LIMIT = 100

/** Other requests with the same error, route and credential in the day before this one. */
function More(request: RequestDetail) {
  const { error, route, credential, at } = request
  const from = isoSecond(Date.parse(at) - DAY_MS)
  const key = credential?.kind === 'key' ? credential.id : undefined
  const same = { error: error ?? undefined, route: route === '*' ? undefined : route }
  const { data } = useLoaded<RequestPage>(
    withQuery('/admin/requests', {
      ...same,
      ...(error === null && { status: 'none' }),
      key_id: key,
      mode: request.mode,
      from,
      limit: MORE_LIMIT,
    }),
  )
  const others = (data?.data ?? []).filter(({ id }) => id !== request.id).length
  if (others === 0) return null
  const count = data?.has_more ? `${MORE_LIMIT} or more` : String(others)
  return (
    <a
      class="btn tiny"
      href={href('/console/requests', { ...same, key, range: '24h', ...scopeOf(request) })}
    >
      {count} more like this in 24 h
    </a>
  )
}
