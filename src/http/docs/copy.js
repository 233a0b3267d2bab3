// Optional: the page works without this script. It adds a copy button to each code block and applies one language choice to all samples.
for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(block.querySelector('pre').textContent).then(
      () => true,
      () => select(block.querySelector('pre')),
    )
    button.textContent = copied ? 'Copied' : 'Press Ctrl-C'
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
  block.append(button)
}

/** Fallback if the page may not use the clipboard (plain HTTP on another machine): selects the text so that the reader can copy it. */
function select(pre) {
  getSelection().selectAllChildren(pre)
  return false
}

document.addEventListener('change', ({ target }) => {
  if (target.name?.endsWith('-language')) {
    const before = target.getBoundingClientRect().top
    for (const one of document.querySelectorAll(`input[value="${target.value}"]`)) one.checked = true
    // Samples above may have changed their height. Keep the current position on screen.
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' })
  }
})

/** Opens the details of an error when a link points to it. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target instanceof HTMLDetailsElement) target.open = true
}
addEventListener('hashchange', openTarget)
openTarget()

const links = new Map([...document.querySelectorAll('nav li a')].map((link) => [link.hash.slice(1), link]))
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) mark(links.get(target.id))
  },
  { rootMargin: '-15% 0px -80% 0px' },
)
function mark(link) {
  for (const one of links.values()) one.removeAttribute('aria-current')
  link?.setAttribute('aria-current', 'true')
  // On a phone the table of contents is one line that scrolls horizontally.
  if (link) document.querySelector('nav').scrollLeft = link.offsetLeft - 16
}
for (const section of document.querySelectorAll('main > section')) watcher.observe(section)
