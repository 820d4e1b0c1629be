/** Request, event, delivery and attempt as one line with four shapes. */
import type { ComponentChildren } from 'preact'
import type { Tone } from './state.tsx'

export type NodeKind = 'request' | 'event' | 'delivery' | 'attempt'

const SHAPES: Readonly<Record<NodeKind, ComponentChildren>> = {
  request: <circle cx="7" cy="7" r="6" />,
  event: <path d="M7 0l7 7-7 7-7-7z" />,
  delivery: <rect x="1" y="1" width="12" height="12" rx="1" />,
  attempt: <circle cx="7" cy="7" r="3.5" />,
}

const LABELS: Readonly<Record<NodeKind, string>> = {
  request: 'Request',
  event: 'Event',
  delivery: 'Delivery',
  attempt: 'Attempt',
}

export const Shape = ({ kind, tone = 'idle' }: { kind: NodeKind; tone?: Tone }) => (
  <svg class={`node ${tone}`} viewBox="0 0 14 14" fill="currentColor" aria-hidden="true">
    {SHAPES[kind]}
  </svg>
)

interface ThreadNodeProps {
  readonly kind: NodeKind
  readonly tone?: Tone
  /** Whether the page is about this node. */
  readonly isHere?: boolean
  /** The rest of the first line. */
  readonly line: ComponentChildren
  /** Below the line: sentences, attempts, a list of nodes. */
  readonly children?: ComponentChildren
}

export const ThreadNode = ({ kind, tone = 'idle', isHere, line, children }: ThreadNodeProps) => (
  <li class={isHere ? 'here' : undefined} aria-current={isHere ? 'true' : undefined}>
    <Shape kind={kind} tone={tone} />
    <div class="line1">
      <b>{LABELS[kind]}</b>
      {line}
    </div>
    {children}
  </li>
)

/** Nodes in their order; put the deliveries of an event as `<ol>` into its node's children. */
export const Thread = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <ol class="thread" aria-label={label}>
    {children}
  </ol>
)

interface AttemptProps {
  readonly line: ComponentChildren
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

export const Attempt = ({ line, isOpen, children }: AttemptProps) => (
  <details class="attempt" open={isOpen}>
    <summary>{line}</summary>
    <div>{children}</div>
  </details>
)
