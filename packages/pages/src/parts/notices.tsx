/** Attention, notices, empty and loading; and `Part`, which selects between them. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { type ApiFailure, readReasons } from '../api.ts'
import { timeOfDay } from '../format.ts'
import type { Loaded } from '../loaded.ts'
import { Button } from './button.tsx'
import { Copy } from './copy.tsx'
import { State, type Tone } from './state.tsx'

export interface AttentionItem {
  readonly id: string
  readonly tone: Tone
  readonly word: string
  readonly sentence: ComponentChildren
  readonly actions: ComponentChildren
}

export const AttentionList = ({ items }: { readonly items: readonly AttentionItem[] }) => (
  <ul class="attention">
    {items.map(({ id, tone, word, sentence, actions }) => (
      <li key={id}>
        <State tone={tone}>{word}</State>
        <p>{sentence}</p>
        <div class="acts">{actions}</div>
      </li>
    ))}
  </ul>
)

interface NoticeProps {
  readonly tone: 'ok' | 'warn' | 'bad' | 'info'
  readonly word: string
  readonly children: ComponentChildren
  readonly actions?: ComponentChildren
  /** `alert` for a failure that the reader must learn of at once. */
  readonly role?: 'alert' | 'status'
}

export const Notice = ({ tone, word, children, actions, role }: NoticeProps) => (
  <div class={`notice ${tone}`} role={role}>
    <State tone={tone === 'info' ? 'idle' : tone}>{word}</State>
    <div class="say">{children}</div>
    {actions}
  </div>
)

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  /** A command or setting that helps, to copy. */
  readonly command?: string | undefined
}

export const Empty = ({ title, children, command }: EmptyProps) => (
  <div class="empty">
    <b>{title}</b>
    {children && <div class="soft small">{children}</div>}
    {command && (
      <>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long commands scroll */}
        <pre tabIndex={0}>{command}</pre>
        <Copy text={command} subject="command" />
      </>
    )}
  </div>
)

export const Loading = ({ subject }: { readonly subject: string }) => (
  <div class="loading">
    <div class="ghost" />
    <div class="ghost" />
    <div class="ghost" />
    <div class="ghost" />
    <p class="vh" role="status">
      Loading {subject}
    </p>
  </div>
)

interface FailedProps {
  readonly failure: ApiFailure
  readonly onRetry?: () => void
  /** When the data that stays was loaded. */
  readonly dataAtMs?: number | undefined
}

/** Why the database serves no request: the response says it to no caller, readiness does. */
function UnreadyReasons({ failure }: Pick<FailedProps, 'failure'>) {
  const reasons = useSignal<readonly string[]>([])
  useEffect(() => {
    readReasons().then((read) => {
      reasons.value = read
    })
  }, [failure])
  return reasons.value.map((reason) => <p key={reason}>{reason}</p>)
}

/** The part that failed, in the words of the response. */
export function Failed({ failure, onRetry, dataAtMs }: FailedProps) {
  const { status, code, problem } = failure
  const word = status === 0 ? 'No response' : `${status} ${code}`
  return (
    <Notice
      tone={status === 403 ? 'warn' : 'bad'}
      word={word}
      role="alert"
      actions={
        onRetry && (
          <Button size="tiny" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      {problem.message}{' '}
      {dataAtMs !== undefined && `The rows are of ${timeOfDay(new Date(dataAtMs).toISOString())}. `}
      {problem.request_id && <code class="soft">{problem.request_id}</code>}
      {code === 'storage_unavailable' && <UnreadyReasons failure={failure} />}
    </Notice>
  )
}

interface PartProps<T> {
  readonly of: Loaded<T>
  /** For screen readers while it loads: `requests`. */
  readonly subject: string
  /** The setting that enables the part, displayed for 404. */
  readonly feature?: { readonly title: string; readonly text: string; readonly setting: string }
  readonly children: (data: T) => ComponentChildren
}

/** Displays loaded data; before, ghosts; if it failed, the problem, and the last data. */
export function Part<T>({ of, subject, feature, children }: PartProps<T>) {
  const { data, failure, reload, atMs } = of
  if (failure && failure.status === 404 && feature) {
    return (
      <Empty title={feature.title} command={feature.setting}>
        {feature.text}
      </Empty>
    )
  }
  const isCovered = failure?.status === 401
  return (
    <>
      {failure && !isCovered && (
        <Failed failure={failure} onRetry={reload} dataAtMs={data && atMs} />
      )}
      {data !== undefined ? children(data) : !failure && <Loading subject={subject} />}
    </>
  )
}
