/** The response to an attempt of a delivery. */
import { ExchangeText } from '../parts/json.tsx'

interface AttemptResponseProps {
  readonly attempt: {
    readonly status: number | null
    readonly response_headers: Readonly<Record<string, string>> | null
    readonly response_body: string | null
  }
}

export const AttemptResponse = ({ attempt }: AttemptResponseProps) =>
  attempt.status === null ? (
    <p class="soft small">There was no response.</p>
  ) : (
    <ExchangeText
      start={`HTTP/1.1 ${attempt.status}`}
      headers={attempt.response_headers ?? {}}
      body={attempt.response_body ?? undefined}
    />
  )
