/** Sends a sample event to an endpoint, in any version, and displays the result in its place. */
import { useState } from 'preact/hooks'
import { duration } from '../format.ts'
import { useOperationForm } from '../forms/form.ts'
import { FormFields } from '../forms/form-fields.tsx'
import { Button } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { Failed } from '../parts/notices.tsx'
import { State } from '../parts/state.tsx'
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
  const [result, setResult] = useState<TestResult>()
  const form = useOperationForm({
    operation: 'test_webhook',
    values: { event_type: sampleType(events) },
    fixed: { resume_deliveries: true },
    words: {
      event_type: { hint: null },
      api_version: {
        options: () => [
          ['', ownVersion],
          ...useVersionNames().flatMap((name) =>
            name === ownVersion ? [] : [[name, name] as const],
          ),
        ],
      },
    },
  })
  const { isBusy, failure } = form.sending
  const test = () => {
    setResult(undefined)
    void form.submit<TestResult>(`${path}/test`, (body) => {
      setResult(body)
      onDone()
    })
  }
  return (
    <Form class="bar" onSubmit={test}>
      <FormFields form={form} isEmbedded />
      <Button type="submit" busy={isBusy && 'Sending…'}>
        Send a test
      </Button>
      <span role="status">
        {result && <State tone={result.delivered ? 'ok' : 'bad'}>{resultWords(result)}</State>}
      </span>
      {failure && !form.isAtField && <Failed failure={failure} />}
    </Form>
  )
}
