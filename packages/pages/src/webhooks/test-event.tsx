/** Sends a sample event to an endpoint, in any version, and displays the result in its place. */
import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { duration } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Failed } from '../parts/notices.tsx'
import { State } from '../parts/state.tsx'
import { useSend } from '../use-send.ts'
import { useVersionNames } from './endpoint-form.tsx'

export interface TestResult {
  readonly delivered: boolean
  readonly response_status: number | null
  readonly duration_ms: number
  readonly error: string | null
}

/** Returns a type that a pattern of an endpoint covers: every service has `key.created`. */
export const sampleType = ([pattern = '*']: readonly string[]): string =>
  pattern === '*' ? 'key.created' : pattern.replace('*', 'created')

/** Returns the result of a test delivery in words. */
export const resultWords = ({ response_status: status, duration_ms, error }: TestResult): string =>
  `${status ?? (error ?? 'no response').replaceAll('_', ' ')} in ${duration(duration_ms)}`

interface TestEventProps {
  /** The path of the endpoint. */
  readonly path: string
  readonly events: readonly string[]
  /** The version of its payloads. */
  readonly version: string
  readonly onDone: () => void
}

export function TestEvent({ path, events, version: ownVersion, onDone }: TestEventProps) {
  const versions = useVersionNames()
  const [type, setType] = useState(sampleType(events))
  const [version, setVersion] = useState('')
  const [result, setResult] = useState<TestResult>()
  const { isBusy, failure, messageOf, run } = useSend()
  const others = versions.filter((name) => name !== ownVersion)
  const test = () =>
    run(async () => {
      setResult(undefined)
      const body = {
        event_type: type,
        resume_deliveries: true,
        ...(version && { api_version: version }),
      }
      setResult((await send<TestResult>('POST', `${path}/test`, { body })).body)
      onDone()
    })
  const isFieldError = ['/event_type', '/api_version'].some(messageOf)
  return (
    <Form class="bar" onSubmit={test}>
      <Field
        label="Event type"
        value={type}
        onInput={setType}
        error={messageOf('/event_type')}
        required
      />
      <Field
        label="Version"
        value={version}
        onInput={setVersion}
        options={[['', ownVersion], ...others.map((name) => [name, name] as const)]}
        error={messageOf('/api_version')}
      />
      <Button type="submit" busy={isBusy && 'Sending…'}>
        Send a test
      </Button>
      <span role="status">
        {result && <State tone={result.delivered ? 'ok' : 'bad'}>{resultWords(result)}</State>}
      </span>
      {failure && !isFieldError && <Failed failure={failure} />}
    </Form>
  )
}
