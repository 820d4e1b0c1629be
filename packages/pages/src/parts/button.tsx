/** Buttons, and links that look like one. A busy button stays in its place. */
import type { ComponentChildren } from 'preact'

interface ButtonProps {
  readonly children: ComponentChildren
  readonly kind?: 'plain' | 'first' | 'quiet' | 'danger' | 'danger first'
  readonly size?: 'normal' | 'tiny'
  readonly type?: 'button' | 'submit'
  /** Opens the URL of these pages: the button is then a link. */
  readonly href?: string
  readonly onClick?: () => void
  /** Whether the button is pressed, for a button with two states. */
  readonly pressed?: boolean
  /** Why the button cannot be used; it keeps its place in the tab order. */
  readonly disabled?: boolean
  /** The words while the server works: `Sending…`. */
  readonly busy?: string | false
  readonly autofocus?: boolean
  readonly describedBy?: string
  readonly label?: string
  readonly class?: string
}

export function Button(props: ButtonProps) {
  const { children, kind = 'plain', size = 'normal', href, onClick, disabled, busy } = props
  const names = ['btn', kind !== 'plain' && kind, size === 'tiny' && 'tiny', props.class]
  const classes = names.filter(Boolean).join(' ')
  if (href !== undefined) {
    return (
      <a class={classes} href={href} aria-label={props.label}>
        {children}
      </a>
    )
  }
  const isOff = Boolean(disabled) || Boolean(busy)
  return (
    <button
      class={classes}
      type={props.type ?? 'button'}
      aria-pressed={props.pressed}
      aria-disabled={isOff || undefined}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      autofocus={props.autofocus}
      onClick={(event) => {
        if (isOff) event.preventDefault()
        else onClick?.()
      }}
    >
      {busy || children}
    </button>
  )
}
