/** A state as shape and word, a status code, an HTTP method, an id. Never colour alone. */
import type { ComponentChildren } from 'preact'
import { Copy } from './copy.tsx'

export type Tone = 'ok' | 'warn' | 'bad' | 'hold' | 'idle'

/** `<State tone="bad">Failing</State>` */
export const State = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`st ${tone}`}>{children}</span>
)

/** The status of a response. Null: the connection ended before the response. */
export const Code = ({ status }: { readonly status: number | null }) =>
  status === null ? (
    <span class="code k4">cut</span>
  ) : (
    <span class={`code k${Math.floor(status / 100)}`}>{status}</span>
  )

export const Verb = ({ method }: { readonly method: string }) => (
  <span class={`verb ${method.toLowerCase()}`}>{method}</span>
)

/** A short fact in a frame: an error code, a version. */
export const Tag = ({ tone, children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={tone ? `tag ${tone}` : 'tag'}>{children}</span>
)

/** An id with its copy button. */
export const Id = ({ id, subject = 'id' }: { readonly id: string; readonly subject?: string }) => (
  <span>
    <code class="id">{id}</code> <Copy text={id} subject={subject} />
  </span>
)
