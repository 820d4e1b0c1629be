/**
 * The four first steps. The second and the third tick when the stream reports them, the last when
 * the node runs a service that a team declares.
 */
import { useState } from 'preact/hooks'
import { initCommand, listenCommand, triggerCommand } from '../../commands.ts'
import { useLoaded } from '../../loaded.ts'
import { Copy } from '../../parts/copy.tsx'
import { useStream } from '../../stream.ts'

/** The topic `first_steps` of the stream. */
interface FirstStepsState {
  readonly first_call: boolean
  readonly first_webhook: boolean
}

interface RootBody {
  readonly versions: readonly string[]
  readonly links: {
    readonly api: Readonly<Record<string, Readonly<Record<string, string>>>>
  }
}

interface ResourcesBody {
  readonly is_reference: boolean
  readonly sample_event: string | null
}

/** A path of the newest version that returns rows, an event type, and whose service runs. */
function useService() {
  const root = useLoaded<RootBody>('/').data
  const declared = useLoaded<ResourcesBody>('/admin/resources').data
  const newest = root?.versions.at(-1) ?? ''
  const collections = root?.links.api[newest] ?? {}
  const [firstPath] = Object.values(collections)
  return {
    path: firstPath === undefined ? `/api/${newest}/protected` : `${firstPath}?limit=3`,
    event: declared?.sample_event ?? undefined,
    isOwn: declared?.is_reference === false,
  }
}

interface StepProps {
  readonly title: string
  readonly text: string
  readonly isDone: boolean
  readonly isNow: boolean
  /** Each is for a terminal of its own. */
  readonly commands?: readonly string[]
}

const Step = ({ title, text, isDone, isNow, commands = [] }: StepProps) => (
  <li class={isDone ? 'done' : isNow ? 'now' : undefined}>
    <b>
      {title}
      {isDone && <span class="vh">, done</span>}
    </b>
    <p class="soft small" role="status">
      {text}
    </p>
    {commands.map((command, at) => (
      <>
        {commands.length > 1 && (
          <p class="soft small">
            {at === 0 ? 'In one terminal, it keeps running:' : 'In another:'}
          </p>
        )}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long commands scroll */}
        <pre tabIndex={0}>{command}</pre>
        <p>
          <Copy text={command} subject="command" />
        </p>
      </>
    ))}
  </li>
)

export function FirstSteps() {
  const [steps, setSteps] = useState<FirstStepsState>()
  useStream(['first_steps'], {}, (topic, data) => {
    if (topic === 'first_steps') setSteps(data as FirstStepsState)
  })
  const { path, event, isOwn } = useService()
  const hasRequest = steps?.first_call ?? false
  const hasDelivery = steps?.first_webhook ?? false
  return (
    <ol class="steps">
      <Step title="Gatehook runs" text="This page is from it." isDone isNow={false} />
      <Step
        title="Send a first request"
        text={
          hasRequest
            ? 'The first request has arrived.'
            : 'KEY is the test key of the terminal. This line changes when the request arrives.'
        }
        isDone={hasRequest}
        isNow={!hasRequest}
        commands={[`KEY=gk_test_…\ncurl -H "X-API-Key: $KEY" \\\n  "${location.origin}${path}"`]}
      />
      <Step
        title="Receive a first webhook"
        text={
          hasDelivery
            ? 'The command was connected, or a receiver has accepted a delivery.'
            : 'In the folder of the service. With --forward-to 3000, events go to a receiver.'
        }
        isDone={hasDelivery}
        isNow={hasRequest && !hasDelivery}
        commands={[
          listenCommand(location.port),
          ...(event === undefined ? [] : [triggerCommand(event, location.port)]),
        ]}
      />
      <Step
        title="Declare a resource of your own"
        text={
          isOwn
            ? 'This node runs a service of your own.'
            : 'Gatehook writes a project with a declaration to change.'
        }
        isDone={isOwn}
        isNow={hasRequest && hasDelivery && !isOwn}
        commands={isOwn ? [] : [initCommand]}
      />
    </ol>
  )
}
