/** The theme that the reader has selected, or that of the system. */
import { readStored, store } from './stored.ts'

const STORED_AS = 'gatehook-theme'
const root = document.documentElement

export function applyTheme(): void {
  const stored = readStored(STORED_AS)
  if (stored === 'light' || stored === 'dark') root.dataset.theme = stored
}

/** Changes between light and dark; returns the new theme. */
export function switchTheme(): string {
  const isSystemDark = matchMedia('(prefers-color-scheme: dark)').matches
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : isSystemDark
  const theme = isDark ? 'light' : 'dark'
  root.dataset.theme = theme
  store(STORED_AS, theme)
  return theme
}
