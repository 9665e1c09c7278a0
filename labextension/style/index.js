import './card.css';
import './chips.css';
import './code.css';
import './places.css';
import './squiggles.css';
