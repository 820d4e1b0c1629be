/** A secret that the server returns once. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Copy } from './copy.tsx'

interface SecretProps {
  readonly label: string
  readonly value: string
  readonly hint?: ComponentChildren
}

export function Secret({ label, value, hint }: SecretProps) {
  const id = useId()
  return (
    <div class="field">
      <p class="label" id={id}>
        {label}
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has no place for the value */}
      <div class="secret" role="group" aria-labelledby={id}>
        <code>{value}</code>
        <Copy text={value} subject={label} />
      </div>
      {hint && <p class="hint">{hint}</p>}
    </div>
  )
}
