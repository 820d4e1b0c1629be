/** Short results, spoken by screen readers, for six seconds. */
import { signal } from '@preact/signals'
import { after } from '../clock.ts'

const DURATION_MS = 6000
const text = signal('')
let cancel: (() => void) | undefined

export function say(words: string): void {
  text.value = words
  cancel?.()
  cancel = after(DURATION_MS, () => {
    text.value = ''
  })
}

export const Toast = () => (
  <div class="toast" role="status">
    {text.value}
  </div>
)
