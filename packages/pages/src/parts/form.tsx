/** A form whose request the page sends. */
import type { ComponentChildren } from 'preact'

interface FormProps {
  readonly onSubmit: () => void
  readonly children: ComponentChildren
  readonly class?: string
  /** `post`: without scripts, no password becomes part of a URL. */
  readonly method?: 'post'
  readonly noValidate?: boolean
}

export const Form = ({ onSubmit, ...attributes }: FormProps) => (
  <form
    {...attributes}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  />
)
