// Animations and transitions that end soon: what they hide or show is not decided before.

import {
  animationEffect, animationFinished, animationState, animationTime, effectTiming, runningAnimations,
} from './intrinsics.js';

// How long they may delay a reply.
const MAX_ANIMATION_MILLISECONDS = 1000;

// Without those that never end, such as a spinner, and those that take too long to wait for.
export const endingAnimations = () => runningAnimations(document).filter((animation) => {
  const effect = animationEffect(animation);
  if (animationState(animation) !== 'running' || effect === null) return false;
  const { endTime } = effectTiming(effect);
  const left = Number(endTime) - Number(animationTime(animation) ?? 0);
  return left <= MAX_ANIMATION_MILLISECONDS;
});

// Resolves with whether there were any.
export const waitForAnimations = async () => {
  const ending = endingAnimations();
  if (!ending.length) return false;
  const finished = Promise.allSettled(ending.map((animation) => animationFinished(animation)));
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, MAX_ANIMATION_MILLISECONDS); });
  await Promise.race([finished, late]);
  clearTimeout(timer);
  return true;
};
