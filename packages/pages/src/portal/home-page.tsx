/** The home of the portal: health, coming changes, webhooks, keys, applications, errors. */
import { useEffect, useState } from 'preact/hooks'
import { send } from '../api.ts'
import { serviceName } from '../branding.ts'
import { nowMs } from '../clock.ts'
import { count, day, listTime, percent } from '../format.ts'
import { columnsOf } from '../lists/columns.tsx'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { useTitle } from '../parts/frame.tsx'
import { Json } from '../parts/json.tsx'
import { Empty, Notice, Part } from '../parts/notices.tsx'
import { Code, Id } from '../parts/state.tsx'
import { Sub, Table } from '../parts/table.tsx'
import { say } from '../parts/toast.tsx'
import { useVersionNames } from '../webhooks/endpoint-form.tsx'
import { KeySection } from './keys.tsx'
import { session } from './session.ts'
import type {
  Application,
  Endpoint,
  FailedRequest,
  Health,
  Page as ListPage,
  UpcomingChange,
  UsedVersion,
} from './shapes.ts'
import { sendTest, WebhookSection, withoutScheme } from './webhooks.tsx'

const REFRESH_MS = 15_000
const DAY_MS = 86_400_000

export function Page() {
  useTitle('Your integration')
  const { sections, sees_all_rows: seesAll } = session.value!
  return (
    <main id="main" class="page" tabIndex={-1}>
      <h1 class="vh">Your integration</h1>
      {seesAll ? (
        <Integration />
      ) : (
        <Notice tone="info" word="Own data">
          You see your own data only, so keys and webhooks of {session.value!.customer.name} are not
          displayed.
        </Notice>
      )}
      {sections.keys !== 'hidden' && <KeySection />}
      {readsApplications() && <Applications />}
      {seesAll && <Errors />}
    </main>
  )
}

function Integration() {
  const health = useLoaded<Health>('/portal/api/health', { everyMs: REFRESH_MS })
  const hasWebhooks = session.value!.sections.webhooks !== 'hidden'
  return (
    <Part of={health} subject="the health of your integration">
      {(data) => (
        <>
          <HealthCard health={data} />
          <Changes health={data} />
          {hasWebhooks && <WebhookSection endpoints={data.webhooks} onChange={health.reload} />}
          <Limits health={data} />
        </>
      )}
    </Part>
  )
}

const TONES = { well: '', fix_by: ' warn', broken: ' bad' } as const

const SHAPES = {
  well: 'M6 18l8 8L30 10',
  fix_by: 'M18 3l15 15-15 15L3 18zM18 11v9M18 24.5v.5',
  broken: 'M8 8l20 20M28 8L8 28',
} as const

const Shape = ({ state }: Pick<Health, 'state'>) => (
  <svg
    class="shape"
    width="36"
    height="36"
    viewBox="0 0 36 36"
    fill="none"
    stroke="currentColor"
    stroke-width="2.5"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d={SHAPES[state]} />
  </svg>
)

interface Named {
  readonly kind: string
  readonly id: string | null
  readonly name: string | null
}

/** Returns the name of a key, client or version; of an endpoint its address: hosts repeat. */
const nameOf = ({ kind, id, name }: Named, { webhooks }: Health): string | null => {
  const endpoint = kind === 'webhook' ? webhooks.find((each) => each.id === id) : undefined
  return endpoint ? withoutScheme(endpoint.url) : name
}

const callersOf = ({ callers }: UsedVersion, health: Health): string =>
  [
    ...new Set(
      callers.map(
        (caller) =>
          nameOf(caller, health) ?? (caller.kind === 'webhook' ? 'webhooks' : 'other calls'),
      ),
    ),
  ].join(', ')

const DEADLINE_VERBS: Readonly<Record<string, string>> = {
  version: 'ends',
  webhook: 'is switched off',
  key: 'expires',
}

const deadlineWords = (deadline: Health['deadlines'][number], health: Health): string =>
  `${nameOf(deadline, health)} ${DEADLINE_VERBS[deadline.kind] ?? 'ends'}`

function HealthCard({ health }: { readonly health: Health }) {
  const { state, deadlines, webhooks, versions } = health
  const next = deadlines[0]
  // The section of a link such as `/portal#keys` exists only now.
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), [])
  const broken = webhooks.filter(
    (endpoint) => endpoint.state === 'failing' || endpoint.disabled_reason !== null,
  )
  const ending = versions.filter(({ fix_by }) => fix_by !== null)
  const daysLeft = next && Math.max(0, Math.ceil((Date.parse(next.at) - nowMs()) / DAY_MS))
  return (
    <section class={`health${TONES[state]}`} aria-labelledby="health-title">
      <Shape state={state} />
      <div>
        <h2 id="health-title">
          {state === 'well' && 'Nothing needs a change'}
          {state === 'fix_by' && `Fix by ${day(next!.at)}: ${deadlineWords(next!, health)}`}
          {state === 'broken' && `${count(broken.length, 'webhook')} not delivered`}
        </h2>
        {state === 'well' && <p>No webhook fails, and no version that you use ends.</p>}
        {broken.map(({ id, url, since, off_at: offAt }) => (
          <p key={id}>
            {withoutScheme(url)}{' '}
            {since === null ? 'is switched off.' : `fails since ${day(since)}.`}
            {offAt !== null && ` It is switched off on ${day(offAt)} if no delivery succeeds.`}
          </p>
        ))}
        {deadlines
          .filter(({ kind }) => kind === 'key')
          .map((deadline) => (
            <p key={deadline.id}>
              The key {deadlineWords(deadline, health)} on {day(deadline.at)}.
            </p>
          ))}
        {ending.map((version) => (
          <p key={version.version}>
            {`Still on ${version.version}: ${callersOf(version, health)}. `}
            {`Change to ${version.successor} before ${day(version.fix_by!)}.`}
          </p>
        ))}
      </div>
      {daysLeft !== undefined && (
        <p class="days">
          {daysLeft}
          <small>
            {daysLeft === 1 ? 'day' : 'days'} until {day(next!.at)}
          </small>
        </p>
      )}
    </section>
  )
}

function Changes({ health: { changes, webhooks } }: { readonly health: Health }) {
  if (changes.length === 0) return null
  const isWritable = session.value!.sections.webhooks === 'write'
  return (
    <section class="section" aria-labelledby="changes-title">
      <h2 id="changes-title">What changes for you</h2>
      <ul>
        {changes.map((change) => (
          <li key={`${change.version} ${change.resource} ${change.why}`}>
            <b>{change.resource}</b> in {change.version}: {change.why}
            {change.example && (
              <details>
                <summary>Example: {change.example.event_type}</summary>
                <div class="pair">
                  <Json value={change.example.from} />
                  <Json value={change.example.to} />
                </div>
                {isWritable && <VersionTests change={change} endpoints={webhooks} />}
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

interface VersionTestsProps {
  readonly change: UpcomingChange
  readonly endpoints: readonly Endpoint[]
}

/** Sends the example in its newest version to the endpoints that get an older one. */
const VersionTests = ({ change: { example }, endpoints }: VersionTestsProps) => {
  const version = useVersionNames()[0]
  if (version === undefined) return null
  const older = endpoints.filter(({ active, api_version }) => active && api_version !== version)
  return (
    <div class="bar">
      {older.map((endpoint) => (
        <Button
          key={endpoint.id}
          size="tiny"
          onClick={() =>
            sendTest(endpoint, { event_type: example!.event_type, api_version: version })
          }
        >
          Send a {version} test to {withoutScheme(endpoint.url)}
        </Button>
      ))}
    </div>
  )
}

function Limits({ health: { limits } }: { readonly health: Health }) {
  const { requests, used_share: share } = limits
  if (!requests || share === null) return null
  return (
    <p class="hint">
      Your busiest key used {percent(share)} of {count(requests.limit, 'request')} per{' '}
      {requests.window_s} s, in a quarter of an hour of the last 24 hours.
    </p>
  )
}

/** Whether the session reads consents: a person's own ones, a link's those of all people. */
const readsApplications = (): boolean => {
  const { signed_in: signedIn, scopes } = session.value!
  return signedIn.kind === 'person' || scopes.includes('keys:read')
}

/** The host of an application whose name is its own claim, as on the consent page. */
const Claimant = ({ of: { name, hosts } }: { readonly of: Application }) => (
  <>
    <b>{hosts.length === 0 ? name : hosts.join(', ')}</b>
    {hosts.length > 0 && ` calls itself “${name}”`}
  </>
)

function Applications() {
  const applications = useLoaded<ListPage<Application>>('/portal/api/consents')
  const [open, setOpen] = useState<Application>()
  const { signed_in: signedIn, scopes } = session.value!
  const mayRevoke = signedIn.kind === 'person' || scopes.includes('keys:write')
  return (
    <section class="section" id="apps" aria-labelledby="apps-title">
      <div class="bar">
        <h2 id="apps-title">Applications you allowed</h2>
      </div>
      <Part of={applications} subject="applications">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No applications">
              Applications that people of your company allow appear here.
            </Empty>
          ) : (
            <Table
              caption="Applications"
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                ...columns,
                {
                  name: 'actions',
                  label: <span class="vh">Actions</span>,
                  align: 'end',
                  cell: (application) =>
                    mayRevoke && (
                      <Button
                        size="tiny"
                        kind="quiet"
                        label={`Revoke ${application.name}`}
                        onClick={() => setOpen(application)}
                      >
                        Revoke…
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Part>
      {open && (
        <Confirm
          title={`Revoke ${open.name}`}
          verb="Revoke"
          isDangerous
          onClose={() => setOpen(undefined)}
          run={async () => {
            await send('DELETE', `/portal/api/consents/${encodeURIComponent(open.id)}`)
            say('Revoked')
            applications.reload()
          }}
        >
          {open.name} loses its access within 2 seconds.
        </Confirm>
      )}
    </section>
  )
}

const columns = columnsOf<Application>('PortalApplication', {
  cells: {
    name: (application) => <Claimant of={application} />,
    allows: ({ allows }) => allows.join('. '),
  },
})

const LOG_OFF = {
  title: 'Errors are not recorded',
  text: 'The request log of this API is off.',
  setting: 'GATEHOOK_REQUEST_LOG=all',
}

function Errors() {
  const errors = useLoaded<ListPage<FailedRequest>>('/portal/api/errors?limit=20')
  return (
    <section class="section" aria-labelledby="errors-title">
      <h2 id="errors-title">Recent errors</h2>
      <Part of={errors} subject="errors" feature={LOG_OFF}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No errors">Failed calls of your keys appear here.</Empty>
          ) : (
            <Table
              caption="Recent errors"
              rows={data}
              rowKey={({ id, at }) => `${id} ${at}`}
              columns={[
                {
                  name: 'at',
                  label: 'When (UTC)',
                  priority: 2,
                  class: 'nowrap',
                  cell: ({ at }) => listTime(at, nowMs()),
                },
                {
                  name: 'call',
                  label: 'Call',
                  isMain: true,
                  class: 'mono',
                  cell: ({ id, at, method, path }) => (
                    <>
                      {method} {path}
                      <Sub>
                        {listTime(at, nowMs())} · <Id id={id} subject="request id" />
                      </Sub>
                    </>
                  ),
                },
                {
                  name: 'response',
                  label: 'Response',
                  cell: ({ status, error }) => (
                    <>
                      <Code status={status} /> <span class="mono nowrap">{error}</span>
                    </>
                  ),
                },
                {
                  name: 'id',
                  label: `Request id for the support of ${serviceName}`,
                  priority: 2,
                  cell: ({ id }) => <Id id={id} subject="request id" />,
                },
              ]}
            />
          )
        }
      </Part>
    </section>
  )
}
