/** How the pages look: light and dark, from 320 px on, without a script or a file to load. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --paper: #ffffff; --ink: #1b1f24; --soft: #56606b; --line: #868e99;
  --accent: #0b5cad; --accent-ink: #ffffff; --bad: #a11a1a; --bad-ground: #fdf0f0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --paper: #1e2329; --ink: #eceff2; --soft: #aab4be; --line: #77818c;
    --accent: #7cb8f5; --accent-ink: #0d1b2a; --bad: #ffb3b0; --bad-ground: #3a2020;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2rem 1rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
main {
  max-width: 26rem; margin: 0 auto; padding: 1.5rem; background: var(--paper);
  border: 1px solid var(--line); border-radius: .5rem;
}
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.25; }
h2 { margin: 0 0 .5rem; font-size: 1rem; }
p, ul, dl { margin: 0 0 1rem; }
ul { padding-left: 1.25rem; }
.soft { color: var(--soft); }
.notice {
  padding: .75rem; border-left: .25rem solid var(--bad); background: var(--bad-ground);
  color: var(--bad);
}
label { display: block; margin: 0 0 .25rem; font-weight: 600; }
input {
  width: 100%; margin: 0 0 1rem; padding: .625rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--line); border-radius: .375rem;
}
button {
  display: block; width: 100%; min-height: 2.75rem; margin: 0 0 .75rem; padding: .5rem 1rem;
  font: inherit; font-weight: 600; color: var(--accent-ink); background: var(--accent);
  border: 1px solid var(--accent); border-radius: .375rem; cursor: pointer;
}
button.second { color: var(--ink); background: var(--paper); border-color: var(--line); }
button.link {
  width: auto; min-height: 1.5rem; margin: 0; padding: 0; color: var(--accent);
  background: none; border: 0; text-decoration: underline;
}
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
