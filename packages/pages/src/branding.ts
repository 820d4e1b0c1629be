/** Values that the server writes into the shell. */
const { service = 'Gatehook', release = '' } = document.documentElement.dataset

export const serviceName = service
export const releaseName = release

const { logo = '', accent = '', accentTint = '' } = document.documentElement.dataset

/** Undefined without a logo. */
export const logoUrl: string | undefined = logo.startsWith('/') ? logo : undefined

/** Replaces the accent of the stylesheet by that of the operator, in both themes. */
export function applyAccent(): void {
  const { style } = document.documentElement
  if (!accent.startsWith('light-dark(')) return
  style.setProperty('--accent', accent)
  style.setProperty('--accent-ground', accentTint)
}
