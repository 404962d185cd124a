// Animation frames.

// One frame of animation, or this long when the page is not being drawn.
const FRAME_MILLISECONDS = 100;

// Resolves with whether there was one.
export const nextFrame = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, FRAME_MILLISECONDS, false);
  requestAnimationFrame(() => { clearTimeout(timer); resolve(true); });
});
